"""Job streams: what arrives when, and the load generator that submits it.

``distributions`` draws, ``campaign`` is the document that describes a stream, ``schedule`` turns a campaign and a seed
into jobs with arrival moments, and ``locustfile`` submits a schedule through the broker at those moments. The campaigns
that come with the testbed lie in ``campaigns/``.
"""
