"""The engine's nouns: migrations, health, receipts."""
