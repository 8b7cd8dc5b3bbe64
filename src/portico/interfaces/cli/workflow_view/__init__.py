"""A workflow as a person sees it in a terminal: pure, from what the server says to lines."""
