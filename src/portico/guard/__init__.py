"""Who may do what: identities, keys, spaces, policy, approvals, secrets and the audit."""
