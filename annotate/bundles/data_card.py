def text(study, manifest, files):
    return ""
