"""The Transformer: Tf_x and Tf_y as one causal module with two heads."""
