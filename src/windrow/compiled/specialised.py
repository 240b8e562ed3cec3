"""placeholder while the kernels are being written"""
def specialised(*a): return None
