"""Virtual machines on hosts people own, through libvirt, with whole graphics cards passed to them."""
