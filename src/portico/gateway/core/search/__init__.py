"""Which tools answer a question: words, vectors, how they are weighed, and when nothing fits."""
