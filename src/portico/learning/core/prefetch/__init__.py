"""What a task will call next, and with what, judged by what was called before."""
