"""Every public question, asked of a small fit of every kind: who answers, who cannot, and why."""
