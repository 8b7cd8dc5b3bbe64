"""Who may do what: identities, keys and spaces; policy, approvals and audit to come."""
