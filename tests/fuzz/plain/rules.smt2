; The plain machine has no rules.
