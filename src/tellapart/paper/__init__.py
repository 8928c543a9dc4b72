"""The published method, whole: its encoder, its critic, its settings, its evaluation of a design and its search."""
