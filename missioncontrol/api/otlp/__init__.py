"""OTLP/HTTP: telemetry of any instrumented agent, as runs, turns and model calls."""
