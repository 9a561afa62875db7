"""A reader with every head of a model, for the methods that are published with all of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from foveate.blocks.proxy import Proxy
    from foveate.blocks.reading import Head

_wide: WeakKeyDictionary[Proxy, Proxy] = WeakKeyDictionary()
_making = threading.Lock()


def every_head(proxy: Proxy) -> Proxy:
    """A reader of the same model, unadapted, with all of its heads; one for each proxy, kept.

    It encodes passages anew, once, to the model's full depth, into a store of its own.
    """
    with _making:
        if proxy not in _wide:
            plain = proxy.with_model(proxy.base) if proxy.adapter else proxy
            _wide[proxy] = plain.with_heads(all_heads(proxy))
        return _wide[proxy]


def all_heads(proxy: Proxy) -> tuple[Head, ...]:
    """Every (layer, head) of the model."""
    config = proxy.model.config
    layers, width = config.num_hidden_layers, config.num_attention_heads
    return tuple((layer, head) for layer in range(layers) for head in range(width))
