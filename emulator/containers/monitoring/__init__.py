"""The monitor of a testbed: a Prometheus that scrapes the broker, and a Grafana with a dashboard if one is wanted.

files       its Compose file and the configuration of both (pure); `dashboard.json` is the dashboard
starting    start and stop it
"""
