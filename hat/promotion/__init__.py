"""Whether a (harness, model) pair may go into production: policy, evidence, verdict, ledger."""
