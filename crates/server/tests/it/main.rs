//! HTTP against a real socket.
