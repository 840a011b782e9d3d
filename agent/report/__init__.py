"""What a check found, as text, JSON, GitHub annotations or SARIF."""
