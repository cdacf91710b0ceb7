"""What decides a claim: certificates, kernel, instances. Knows no paper."""
