"""The broker's HTTP interface, version 1.

api               the routes
submission_route  the route of submissions, the busiest one
files             the routes of files
limits            the token, and limits of a request's size
connections       the time that a request's headers may take
strict_json       JSON without ambiguity
event_feed        pages and streams of events
slow_work         threads for requests that may wait for clusters
page              the live page's files, sessions and status
page_notes        what the recorder of a run tells the page
metrics           counters and gauges for Prometheus
totals            counters and histograms that can be stored
"""
