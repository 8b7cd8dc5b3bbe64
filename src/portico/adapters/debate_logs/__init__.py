"""What debates leave behind as files on this machine."""
