"""The linear term of a label's logit: one sparse weight per informative feature."""
