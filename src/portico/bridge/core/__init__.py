"""What the bridge is about: projects, talk, and what is shared; and how secret each of it is."""
