"""Simulators that scripts/beside_peers.py runs beside Wearwell, one module each."""
