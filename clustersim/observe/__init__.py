"""Sinks for events: what a run measured."""
