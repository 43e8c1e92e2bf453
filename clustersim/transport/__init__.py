"""Carriers of bytes between two members of a group."""
