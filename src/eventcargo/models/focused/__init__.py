"""The focused network: per label a small recurrent network over the events of a few candidates."""
