//! Configuration of a session (C1-C8).
