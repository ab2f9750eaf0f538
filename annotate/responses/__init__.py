"""What happens to an answer: lock, lease, write, submit, come late, skip."""
