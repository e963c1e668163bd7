"""Simulators with which scripts/beside_peers.py compares Wearwell, one module each."""
