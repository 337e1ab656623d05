"""The linear term of a label's logit: one sparse weight for each telling feature."""
