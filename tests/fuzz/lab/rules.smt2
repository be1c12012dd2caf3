; The lab machine has no rules.
