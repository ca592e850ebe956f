# SPDX-License-Identifier: Apache-2.0
"""Many processes, one GPU: the server (``gpushare serve``) and its clients (:func:`gpushare.connect`)."""
