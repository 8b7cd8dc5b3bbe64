"""Programs of the command line that answer for a model: `claude`, `codex`, `gemini`."""
