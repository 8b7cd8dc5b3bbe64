"""Plans of many calls: started, followed, mended, saved under a name."""
