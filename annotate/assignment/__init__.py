"""Assignment of slots: balanced designs, redistribution, and the next slot."""
