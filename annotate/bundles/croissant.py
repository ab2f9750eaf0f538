def descriptions(study, manifest, files, chosen):
    return []
