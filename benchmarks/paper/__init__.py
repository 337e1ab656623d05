"""The paper's own tables and figures."""
