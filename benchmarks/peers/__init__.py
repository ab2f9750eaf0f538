"""Plumbline beside other tools for annotation, each serving the same job."""
