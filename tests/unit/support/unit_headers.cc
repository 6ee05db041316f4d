// The file whose compilation makes the precompiled header; it has nothing of its own.
