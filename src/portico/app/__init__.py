"""The only place that knows every room: settings → adapters → use cases → faces. Plain code."""
