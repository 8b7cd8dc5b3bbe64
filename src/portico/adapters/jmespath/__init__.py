"""Expressions of plans, by JMESPath, evaluated within bounds."""
