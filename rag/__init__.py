"""The whole: retrieval, pipeline, context, generators, adapters, command line."""
