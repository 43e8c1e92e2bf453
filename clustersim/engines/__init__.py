"""Places where a run happens."""
