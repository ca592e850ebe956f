# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of docs/results/gallery.md out of the notebook: ``python docs/images/gallery_pictures.py``."""

import base64
import io
import json
from pathlib import Path

from PIL import Image  # comes with matplotlib

FOLDER = Path(__file__).parent
NOTEBOOK = FOLDER.parents[1] / "notebooks" / "papers" / "gallery.ipynb"
NAMES = [
    "slate_1",
    "cdsearch_7_9",
    "cdsearch_3",
    "cdsearch_4_5",
    "srtf_3_5",
    "srtf_4",
    "srtf_6",
    "srtf_7_8",
]
"""In the notebook's order."""

COLOURS = 255

cells = json.loads(NOTEBOOK.read_text())["cells"]
outputs = [output for cell in cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
for name, output in zip(NAMES, outputs, strict=True):
    picture = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"]))).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(FOLDER / f"gallery_{name}.png", optimize=True)
