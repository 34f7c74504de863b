"""Charts as Vega-Lite: a notebook draws them, `Chart.save` writes them to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class Chart:
    """A Vega-Lite specification (`spec`), which JupyterLab draws by itself."""

    def __init__(self, spec: Dict[str, Any]) -> None:
        self.spec = spec

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        bundle: Dict[str, Any] = {"application/vnd.vegalite.v5+json": self.spec}
        bundle["text/plain"] = repr(self)
        try:  # a picture too, for pages made of notebooks
            import vl_convert

            bundle["image/svg+xml"] = vl_convert.vegalite_to_svg(json.dumps(self.spec))
        except ImportError:
            pass
        return bundle

    def save(self, path: Union[str, Path]) -> None:
        """Writes .json (the specification), .svg, .png or .pdf (these by vl-convert-python)."""
        path = Path(path)
        text = json.dumps(self.spec, indent=1)
        if path.suffix == ".json":
            path.write_text(text + "\n")
            return
        import vl_convert

        if path.suffix == ".svg":
            path.write_text(vl_convert.vegalite_to_svg(text))
        elif path.suffix == ".png":
            path.write_bytes(vl_convert.vegalite_to_png(text, scale=2))
        elif path.suffix == ".pdf":
            path.write_bytes(vl_convert.vegalite_to_pdf(text))
        else:
            raise ValueError(f"{path}: a chart is written as .json, .svg, .png or .pdf")

    def __repr__(self) -> str:
        return f"<allot.chart.Chart {self.spec.get('title', '')}>"


def _records(data: Any) -> List[Mapping[str, Any]]:
    """Rows of a pandas table, or a list of dicts as it is; plain Python values."""
    if hasattr(data, "to_json"):
        return json.loads(data.to_json(orient="records"))
    return list(data)


def _spec(data: Any, mark: Any, x: Dict, y: Dict, color: Optional[str], title: str) -> Dict:
    encoding: Dict[str, Any] = {"x": x, "y": y}
    if color:
        encoding["color"] = {"field": color, "type": "nominal"}
    return {
        "$schema": _SCHEMA,
        "title": title,
        "data": {"values": _records(data)},
        "mark": mark,
        "encoding": encoding,
    }


def _field(name: str) -> str:
    """A field's name as Vega-Lite reads it: a dot would be a path into the row."""
    return name.replace("\\", "\\\\").replace(".", "\\.").replace("[", "\\[").replace("]", "\\]")


def bars(data: Any, x: str, y: str, color: Optional[str] = None, title: str = "") -> Chart:
    """Bars: x is a column of names, y of numbers; color: side by side by this column."""
    spec = _spec(
        data,
        "bar",
        {"field": _field(x), "type": "nominal", "title": x, "axis": {"labelAngle": -40}},
        {"field": _field(y), "type": "quantitative", "title": y},
        _field(color) if color else None,
        title,
    )
    if color:
        spec["encoding"]["xOffset"] = {"field": _field(color)}
        spec["encoding"]["color"]["title"] = color
    return Chart(spec)


def lines(
    data: Any, x: str, y: str, color: Optional[str] = None, title: str = "", log: bool = False
) -> Chart:
    """Lines with points over a swept parameter; log: a logarithmic x axis."""
    axis: Dict[str, Any] = {"field": _field(x), "type": "quantitative", "title": x}
    axis["scale"] = {"type": "log"} if log else {"zero": False}
    spec = _spec(
        data,
        {"type": "line", "point": True},
        axis,
        {"field": _field(y), "type": "quantitative", "title": y},
        _field(color) if color else None,
        title,
    )
    if color:
        spec["encoding"]["color"]["title"] = color
    return Chart(spec)


def why(results: Any, title: str = "Issue slots by cause") -> Chart:
    """A stack of causes for each result: `why({"lrr": r1, "gto": r2})`, or one result."""
    named = results if isinstance(results, Mapping) else {results.kernel: results}
    rows = [
        {"run": name, "cause": cause, "share": share, "order": k}
        for name, r in named.items()
        for k, (cause, share) in enumerate(r.why().items())
    ]
    spec = _spec(
        rows,
        "bar",
        {"field": "share", "type": "quantitative", "axis": {"format": "%"}, "stack": "zero"},
        {"field": "run", "type": "nominal", "title": None, "sort": None},
        "cause",
        title,
    )
    spec["encoding"]["order"] = {"field": "order"}
    spec["encoding"]["color"]["sort"] = None
    return Chart(spec)
