"""The microservice: one engine behind HTTP.

`foveate.service.app` holds `create_app(settings, engine=None)` and `serve(settings)`; both need the
extra `service`. Nothing is imported here, so that naming the package costs nothing.
"""
