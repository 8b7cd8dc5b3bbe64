"""A plan for what somebody wants: from what was done before, and from what they say."""
