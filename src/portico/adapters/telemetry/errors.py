"""What goes wrong before anything can be sent to where the user wants it.

PorticoError
└── ExporterMissing   a place is named, and what would send there is not installed
"""

from portico.kernel.errors import Kind, PorticoError


class ExporterMissing(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "otlp_exporter_missing"
    title = "OpenTelemetry's exporter is not installed"
    fix = (
        "Run: pip install 'portico[otel]', or send nothing: "
        "portico config unset telemetry.otlp_endpoint"
    )

    def __init__(self) -> None:
        super().__init__("telemetry.otlp_endpoint is set, and what would send there is not here.")
