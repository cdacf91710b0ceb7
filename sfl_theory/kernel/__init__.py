"""The trusted kernel: terms, rules, replay of proofs, models; nothing but Python."""
