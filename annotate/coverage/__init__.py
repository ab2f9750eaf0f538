"""How far a study is, when it will be complete, and what needs attention."""
